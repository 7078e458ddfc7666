// RUN: polyattn-opt --polyattn-expand-backward --split-input-file --verify-diagnostics %s

polyattn.attention @wide_states(%q: tensor<?x?x?x128xf32>, %s: tensor<?x?x8256x128xf32>)
    -> (d_q: tensor<?x?x?x128xf32>) {
  %x = read %q : tensor<?x?x?x128xf32> -> [128]
  %a = power 2 %x {symmetric} : [128]
  // expected-error @+1 {{has no gradients as attends where a state of 8256 features is given or asked for: those of all features are formed, and the limit is 8192}}
  %b:4 = attend_backward query %a leaves (%x) key %a leaves (%x) value %x gradient %x initial %s causal
    : sym 2 [128], [128], sym 2 [128], [128], [128], [128], tensor<?x?x8256x128xf32>
  return %b#0 : [128]
}

// -----

polyattn.attention @magnitude(%q: tensor<?x?x?x4xf32>) -> (d_q: tensor<?x?x?x4xf32>) {
  %x = read %q : tensor<?x?x?x4xf32> -> [4]
  %a = power 1 %x {abs} : [4]
  %c = tensor %a, %x : pow 1 [4], [4]
  // expected-error @+1 {{the slope of |score| is the sign of the score, which is no score itself}}
  %b:3 = attend_backward query %c leaves (%x) key %c leaves (%x) value %x gradient %x causal
    : pow 1 [4] x [4], [4], pow 1 [4] x [4], [4], [4], [4]
  return %b#0 : [4]
}
