/* What two builds of one library differ in. */
int polyattn_test_number(void) { return NUMBER; }
