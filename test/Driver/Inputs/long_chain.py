"""Writes a spec of so many functions, one after the other, that no machine compiles it in a second: about 40 s on one
core of 2024."""

WIDTH, COUNT = 16, 25000

tensor = f"tensor<?x?x?x{WIDTH}xf32>"
print(f"polyattn.attention @chain(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> (o: {tensor}) {{\n"
      f"  %x0 = read %q : {tensor} -> [{WIDTH}]\n"
      f"  %y = read %k : {tensor} -> [{WIDTH}]\n"
      f"  %w = read %v : {tensor} -> [{WIDTH}]")
for i in range(COUNT):
    print(f"  %x{i + 1} = tanh %x{i} : [{WIDTH}]")
print(f"  %o = attend query %x{COUNT} key %y value %w causal normalize <none>\n"
      f"    {{grouping = #polyattn.grouping<block>}} : [{WIDTH}], [{WIDTH}], [{WIDTH}]\n"
      f"  return %o : [{WIDTH}]\n}}")
