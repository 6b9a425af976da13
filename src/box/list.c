/* SPDX-License-Identifier: Apache-2.0 */
#include "box/list.h"

#include "base/clock.h"
#include "box/job.h"

int hf__list(struct hf_box *box, uint8_t what, struct listing *listing, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(KIB(1));
    struct link *link = &box->link;
    int result = hf__box_link(box, &out, reterr);
    if (result < 0)
        return result;
    listing->channel = ++link->last_channel;
    listing->done = false;
    link->listing = listing;
    hf__put_list(&out, listing->channel, what);
    result = link_send(link, &out, reterr);
    int64_t deadline = hf__now_ns() + HF_ANSWER_MS * HF_MS_NS;
    while (result >= 0 && !listing->done && !link->dead && hf__now_ns() < deadline)
        result = link_receive(link, hf__poll_timeout(deadline), reterr);
    link->listing = NULL;
    if (result < 0 || listing->done)
        return result < 0 ? result : 0;
    if (link->dead)
        return hf__error(reterr, link->dead_code, "%s", link->dead);
    return hf__error(reterr, HF_E_TIMEOUT, "box '%s' does not answer", box->name);
}
