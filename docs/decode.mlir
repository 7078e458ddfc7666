polyattn.attention @decode(
    %q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x64xf32>,
    %state: tensor<?x?x64x64xf32>, %state_normalizer: tensor<?x?x64xf32>,
    %slots: tensor<?xi32>, %first_position: tensor<?xi64>, %lengths: tensor<?xi32>)
    -> (o: tensor<?x?x?x64xf32>, final: tensor<?x?x64x64xf32> in %state,
        final_normalizer: tensor<?x?x64xf32> in %state_normalizer)
    first_position %first_position slots %slots lengths %lengths {
  %x = read %q : tensor<?x?x?x64xf32> -> [64]
  %y = read %k : tensor<?x?x?x64xf32> -> [64]
  %phi_q = elu_plus_one %x : [64]
  %phi_k = elu_plus_one %y : [64]
  %values = read %v : tensor<?x?x?x64xf32> -> [64]
  %o:3 = attend query %phi_q key %phi_k value %values
      initial %state initial_normalizer %state_normalizer
      causal normalize <sum, eps = 1.0e-6> {final_state, grouping = block}
    : [64], [64], [64], tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
  return %o#0, %o#1, %o#2 : [64], tensor<?x?x64x64xf32>, tensor<?x?x64xf32>
}
