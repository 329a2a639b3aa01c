"""The parts of check_proof.py."""
