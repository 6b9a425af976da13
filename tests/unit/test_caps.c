/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>

#include "spec/caps.h"
#include "spec_helper.h"

#define BIT(cap) (UINT64_C(1) << (cap))

static void test_names(void **state)
{
    assert_int_equal(hf__cap_number("CHOWN"), CAP_CHOWN);
    assert_int_equal(hf__cap_number("cap_sys_admin"), CAP_SYS_ADMIN);
    assert_int_equal(hf__cap_number("Cap_Net_Raw"), CAP_NET_RAW);
    assert_int_equal(hf__cap_number("CHECKPOINT_RESTORE"), CAP_CHECKPOINT_RESTORE);
    assert_int_equal(hf__cap_number("SETFCAP"), CAP_SETFCAP);
    assert_int_equal(hf__cap_number("AUDIT_READ"), CAP_AUDIT_READ);
    assert_int_equal(hf__cap_number(""), -1);
    assert_int_equal(hf__cap_number("CAP_"), -1);
    assert_int_equal(hf__cap_number("CAP_CAP_CHOWN"), -1);
    assert_int_equal(hf__cap_number("CHOWN "), -1);
    for (int i = 0; i < HF_CAP_COUNT; i++)
        assert_int_equal(hf__cap_number(hf__cap_name(i)), i);
    assert_null(hf__cap_name(-1));
    assert_null(hf__cap_name(HF_CAP_COUNT));
}

static void test_refused(void **state)
{
    set_fails(*state, "cap-add", "SYS_ADMN", "'SYS_ADMIN'");
    set_fails(*state, "cap-drop", "net_rew", "'NET_RAW'");
    set_fails(*state, "cap-add", "", "not a capability");
    set_fails(*state, "cap-add", "CHOWN,KILL", "not a capability");
    set_fails(*state, "cap-add", "0123456789012345678901234567890123456789", "not a capability");
}

static hf_spec *finished(hf_spec *spec)
{
    hf_spec *whole = NULL;
    hf_error *error = NULL;
    if (hf__spec_finish(spec, &whole, &error) < 0)
        fail_msg("%s", hf_error_message(error));
    return whole;
}

static void test_drop_all_add_one(void **state)
{
    set_ok(*state, "cap-drop", "ALL");
    set_ok(*state, "cap-add", "net_bind_service");
    hf_spec *spec = finished(*state);
    assert_true(spec->cap_drop == HF_CAP_ALL);
    assert_true(spec->cap_add == BIT(CAP_NET_BIND_SERVICE));
    hf_spec_free(spec);
}

static void test_add_all_drop_one(void **state)
{
    set_ok(*state, "cap-add", "all");
    set_ok(*state, "cap-drop", "CAP_SYS_ADMIN");
    hf_spec *spec = finished(*state);
    assert_true(spec->cap_add == (HF_CAP_ALL & ~BIT(CAP_SYS_ADMIN)));
    hf_spec_free(spec);
}

static void assert_not_finished(hf_spec *spec, const char *words)
{
    hf_spec *whole = NULL;
    hf_error *error = NULL;
    assert_int_equal(hf__spec_finish(spec, &whole, &error), HF_E_INVALID);
    assert_non_null(strstr(hf_error_message(error), words));
    hf_error_free(error);
}

static void test_both(void **state)
{
    set_ok(*state, "cap-add", "KILL");
    set_ok(*state, "cap-add", "CHOWN");
    set_ok(*state, "cap-drop", "KILL");
    assert_not_finished(*state, "'KILL' is both");
}

static void test_all_both(void **state)
{
    set_ok(*state, "cap-add", "ALL");
    set_ok(*state, "cap-drop", "ALL");
    assert_not_finished(*state, "ALL is both");
}

static void test_strict_adds_none(void **state)
{
    set_ok(*state, "cap-add", "KILL");
    set_ok(*state, "hardening", "strict");
    assert_not_finished(*state, "strict");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),     SPEC_TEST(test_refused), SPEC_TEST(test_drop_all_add_one),
        SPEC_TEST(test_add_all_drop_one), SPEC_TEST(test_both),    SPEC_TEST(test_all_both),
        SPEC_TEST(test_strict_adds_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
