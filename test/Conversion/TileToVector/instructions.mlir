// RUN: polyattn-opt --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(polyattn-legalize-math))' %s
// A function whose instructions cannot be read is no function of a machine without any.

// expected-error @+1 {{expected 'polyattn.instructions' of names that --tile-to-vector knows, got "fma,rounds"}}
func.func @misspelt(%x: f32) -> f32 attributes {polyattn.instructions = "fma,rounds"} {
  %y = math.floor %x : f32
  return %y : f32
}

// -----

// expected-error @+1 {{expected 'polyattn.instructions' of names that --tile-to-vector knows, got 3 : i64}}
func.func @number(%x: f32) -> f32 attributes {polyattn.instructions = 3 : i64} {
  %y = math.floor %x : f32
  return %y : f32
}

// -----

func.func @none(%x: f32) -> f32 attributes {polyattn.instructions = "none"} {
  %y = math.floor %x : f32
  return %y : f32
}
