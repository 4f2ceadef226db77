"""Random programs: Tercel agrees with XLA:CPU about them."""

import os

import numpy as np
import pytest
from random_programs import Program

PROGRAMS = int(os.environ.get("TERCEL_EXAMPLES", 25))


@pytest.mark.native
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(tercel, cpu, seed):
    assert not Program(seed).disagreements(tercel, cpu)


def test_a_wrong_result_is_seen(tercel, cpu, monkeypatch):
    run = Program.run

    def wrong(program, device):
        results = run(program, device)
        return results if device == cpu else [np.asarray(x + x.dtype.type(1)) for x in results]

    monkeypatch.setattr(Program, "run", wrong)
    assert len(Program(1).disagreements(tercel, cpu)) == 5
