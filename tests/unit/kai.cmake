# Fair share, usage history and the conformance runner.
orr_unit_test(test_share_divide orr_share)
orr_unit_test(test_share_usage orr_share)
