// Denominators of both signs, a part of which is a floor or guarded.
polyattn.attention @floors(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                           %v: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o = attend query %a key %b value %c causal normalize <sum, eps = 0.0, min_denom = 3.0>
      {grouping = #polyattn.grouping<block>, signed_scores} : [6], [6], [5]
  return %o : [5]
}

polyattn.attention @mean_floors(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                                %v: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o = attend query %a key %b value %c
      causal normalize <bias, bias = 0.5, reduce = mean, min_denom = 0.45>
      {grouping = #polyattn.grouping<interleaved>, signed_scores} : [6], [6], [5]
  return %o : [5]
}

polyattn.attention @full_floors(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                                %v: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o = attend query %a key %b value %c full normalize <bias, bias = 0.5, reduce = mean, min_denom = 0.45>
      {grouping = #polyattn.grouping<block>, signed_scores} : [6], [6], [5]
  return %o : [5]
}

// The state that a call begins with and its gates say which rows are below the floor, too.
polyattn.attention @floors_of_states(
    %q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>, %v: tensor<?x?x?x5xf32>,
    %log_g: tensor<?x?x?xf32>, %state: tensor<?x?x6x5xf32>, %normalizer: tensor<?x?x6xf32>)
    -> (o: tensor<?x?x?x5xf32>, final: tensor<?x?x6x5xf32>, final_normalizer: tensor<?x?x6xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o, %s, %z = attend query %a key %b value %c decay %log_g initial %state
      initial_normalizer %normalizer causal normalize <sum, eps = 1.0e-6, min_denom = 2.0>
      {grouping = #polyattn.grouping<block>, signed_scores, final_state}
    : [6], [6], [5], tensor<?x?x?xf32>, tensor<?x?x6x5xf32>, tensor<?x?x6xf32>
  return %o, %s, %z : [5], tensor<?x?x6x5xf32>, tensor<?x?x6xf32>
}

polyattn.attention @local_floors(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                                 %v: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %aa = power 2 %a {symmetric} : [6]
  %bb = power 2 %b {symmetric} : [6]
  %o = attend query %aa key %bb value %c local %aa, %bb
      causal normalize <bias, bias = 1.0, min_denom = 40.0>
      {block = 32, grouping = #polyattn.grouping<block>} : sym 2 [6], sym 2 [6], [5], sym 2 [6], sym 2 [6]
  return %o : [5]
}

polyattn.attention @guarded(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                            %v: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o = attend query %a key %b value %c
      causal normalize <sum, eps = 0.0, guard_below = 4.0, guard_add = 9.0>
      {grouping = #polyattn.grouping<block>, signed_scores} : [6], [6], [5]
  return %o : [5]
}

// Nothing but the number of keys, which all rows share.
polyattn.attention @means(%q: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                          %v: tensor<?x?x?x5xf32>) -> (o: tensor<?x?x?x5xf32>) {
  %a = read %q : tensor<?x?x?x6xf32> -> [6]
  %b = read %k : tensor<?x?x?x6xf32> -> [6]
  %c = read %v : tensor<?x?x?x5xf32> -> [5]
  %o = attend query %a key %b value %c full normalize <none, reduce = mean>
      {grouping = #polyattn.grouping<block>} : [6], [6], [5]
  return %o : [5]
}
