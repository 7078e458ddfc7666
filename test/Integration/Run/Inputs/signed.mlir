// Scores of both signs, whose sum may nearly vanish.
polyattn.attention @signed(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
                           %v: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x4xf32> -> [4]
  %o = attend query %a key %b value %c full normalize <sum, eps = 1.0e-6> {grouping = #polyattn.grouping<block>, signed_scores} : [8], [8], [4]
  return %o : [4]
}
