"""One table of five users, and the closed forms of numbers that systems give on it."""

from tests.support.notation import (
    interaction_rows,
    recommendation_rows,
)

RECOMMENDATIONS = recommendation_rows(
    {
        "u1": "a:5 b:4 c:3 d:2 e:1",
        "u2": "b:5 c:4",
        "u3": "a:5 b:4 c:3",
        "u4": "a:5 b:4 c:3",
        "u6": "d:5 a:4 e:3 b:2",
    }
)
INTERACTIONS = interaction_rows(
    {
        "u1": "a:3 c:1 e:2 z:1",
        "u2": "c:2",
        "u3": "y:1",
        "u5": "a:1 b:1",
        "u6": "d:1 e:3 x:2 y:1 z:1",
    }
)
# The same for repeated rows, one user, k = 3.
REPEATED_RECOMMENDATIONS = (
    recommendation_rows({"u1": "a:5 a:4 b:3 c:2"}),
    interaction_rows({"u1": "a c"}),
)
REPEATED_INTERACTIONS = (
    recommendation_rows({"u1": "a:5 x:4 y:3"}),
    interaction_rows({"u1": "a a c"}),
)
D2 = "1/log2(3)"  # discount of position 2; of position 1 it is 1, of position 3 it is 1/2
D4, D5 = "1/log2(5)", "1/log2(6)"
IDCG3 = f"(3/2 + {D2})"
U1, U2 = f"(3/2) / {IDCG3}", D2  # nDCG of u1 and u2; u6 has hits at 1 and 3 like u1
GRADED_LINEAR = (
    f"((3 + 1/2) / (3 + 2*{D2} + 1/2) + {D2} + (1 + 3/2) / (3 + 2*{D2} + 1/2))"  # u1, u2, u6
)
GRADED_EXPONENTIAL = (
    f"((7 + 1/2) / (7 + 3*{D2} + 1/2) + {D2} + (1 + 7/2) / (7 + 3*{D2} + 1/2))"  # u1, u2, u6
)
ALL_RELEVANT = (
    f"((3/2) / (3/2 + {D2} + {D4}) + {D2} + (3/2) / (3/2 + {D2} + {D4} + {D5}))"  # u1, u2, u6
)
LENSKIT_U1 = f"(1 + {D2}) / (2 + {D2})"
LENSKIT = f"(2 * {LENSKIT_U1} + 1)"  # u1 and u6, u2
