// RUN: polyattn-opt %s --split-input-file --verify-diagnostics

// Schedules that users write.

// expected-error @below {{a short block has 1 to 1024 positions, not 0}}
module attributes {s = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, short_blocks = [0, 16]>} {}

// -----

// expected-error @below {{a short block has 1 to 1024 positions, not 1025}}
module attributes {s = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, short_blocks = [1025]>} {}

// -----

// expected-error @below {{short_blocks ascend, but 16 comes after 32}}
module attributes {s = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, short_blocks = [32, 16]>} {}

// -----

// expected-error @below {{short_blocks ascend, but 16 comes after 16}}
module attributes {s = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, short_blocks = [16, 16]>} {}

// -----

// expected-error @below {{there are at most 8 short blocks, not 9}}
module attributes {s = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, short_blocks = [1, 2, 3, 4, 5, 6, 7, 8, 9]>} {}
