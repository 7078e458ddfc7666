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

// -----

// expected-error @below {{a segment has 1 to 65536 positions, a multiple of a block's 64, not 0}}
module attributes {s = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0>} {}

// -----

// expected-error @below {{a segment has 1 to 65536 positions, a multiple of a block's 64, not 96}}
module attributes {s = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, segment = 96>} {}

// -----

// expected-error @below {{a segment has 1 to 65536 positions, a multiple of a block's 64, not 65600}}
module attributes {s = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, segment = 65600>} {}

// -----

// expected-error @below {{a segment has 1 to 65536 positions, a multiple of a block's 64, not -64}}
module attributes {s = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, segment = -64>} {}

// -----

// expected-error @below {{`segment` and `states` belong to the form `chunkwise`}}
module attributes {s = #polyattn.schedule<form = state, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, segment = 128>} {}

// -----

// expected-error @below {{`segment` and `states` belong to the form `chunkwise`}}
module attributes {s = #polyattn.schedule<form = both, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, states = bf16>} {}

// -----

// expected-error @below {{states are stored as f32, bf16 or f16, not as 'f64'}}
module attributes {s = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, segment = 128, states = f64>} {}

// -----

// expected-error @below {{the form `chunkwise` has no contracted states and no short blocks}}
module attributes {s = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, contracted = true, segment = 128>} {}

// -----

// expected-error @below {{the form `chunkwise` has no contracted states and no short blocks}}
module attributes {s = #polyattn.schedule<form = chunkwise, diagonal = scores, block = 64, feature_block = 64, quadratic_below = 0, short_blocks = [16], segment = 128>} {}
