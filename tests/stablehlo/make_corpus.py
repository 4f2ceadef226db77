"""Writes StableHLO portable artifacts as JAX sends them to a plugin, and what they should read as.

make_corpus.py DIR [--all]: NAME@VERSION.bc and NAME@VERSION.txt, for a few versions or all. A text
starts with a line `may refuse: ...` that names the ops and types of the program that our IR lacks;
then comes mlir_listing.py's listing. Exits with 77 where JAX is missing.
"""
import pathlib
import re
import sys

try:
    import jax
    jax.config.update("jax_num_cpu_devices", 4)
    import corpus_programs
    import mlir_listing
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax
except ImportError as error:
    print(f"no corpus without JAX: {error}")
    sys.exit(77)

OPS = pathlib.Path(__file__).parents[2] / "src/compiler/ir/ops.def"
FEW_VERSIONS = ["0.9.0", "0.14.0", "1.17.0"]
ALL_VERSIONS = ["0.9.0", "0.10.0", "0.12.0", "0.14.0", "0.15.0", "0.20.0", "1.0.0", "1.1.0",
                "1.4.0", "1.5.0", "1.6.0", "1.9.0", "1.10.0", "1.13.7", "1.15.0", "1.17.0"]
# Read without an op of ours.
ONE_DEVICE = {"sdy.manual_computation", "partition_id", "replica_id"} | {
    name.removeprefix("stablehlo.") for name in mlir_listing.IDENTITIES}
STRUCTURAL = {"builtin.module", "func.func", "func.return", "func.call", "return", "create_token",
              "sdy.mesh", "sdy.return"}


def known_ops():
    return set(re.findall(r"^OP\((\w+)", OPS.read_text(), re.M)) | STRUCTURAL | ONE_DEVICE


def write(directory, name, version, artifact, known):
    with mlir.make_ir_context():
        module = _jax.mlir.deserialize_portable_artifact(artifact)
        text = str(module)
        if re.search(r"num_(partitions|replicas) = (?!1 )", text):
            known = known - ONE_DEVICE
        may_refuse = sorted(mlir_listing.names_in(module) - known)
        lines = []
        try:
            lines = mlir_listing.listing(module)
        except mlir_listing.Unlisted as unlisted:
            may_refuse.append("type")
            lines = [f"# {unlisted}"]
    stem = f"{name}@{version}"
    (directory / f"{stem}.bc").write_bytes(artifact)
    (directory / f"{stem}.txt").write_text(
        "\n".join([f"may refuse: {' '.join(may_refuse)}", *lines]) + "\n")


def programs():
    """Names and MLIR texts."""
    def lowered(programs):
        for name, function, args in programs:
            module = function.lower(*args).compiler_ir("stablehlo")
            yield name, module.operation.get_asm(enable_debug_info=True, large_elements_limit=None)
    yield from lowered(corpus_programs.PROGRAMS)
    yield from lowered(corpus_programs.sharded_programs())
    yield from lowered(corpus_programs.flax_programs())
    yield from corpus_programs.TEXTS.items()
    jax.config.update("jax_use_shardy_partitioner", False)
    yield from lowered(corpus_programs.gspmd_programs())
    jax.config.update("jax_use_shardy_partitioner", True)
    with jax.enable_x64(True):
        yield from lowered(corpus_programs.x64_programs())


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    versions = ALL_VERSIONS if "--all" in sys.argv else FEW_VERSIONS
    known = known_ops()
    count = skipped = 0
    for name, text in programs():
        for version in versions:
            try:
                artifact = _jax.mlir.serialize_portable_artifact(text, version, True)
            except Exception:  # the program needs a newer version
                skipped += 1
                continue
            write(directory, name, version, artifact, known)
            count += 1
    print(f"{count} artifacts, {skipped} programs too new for a version")


if __name__ == "__main__":
    main()
