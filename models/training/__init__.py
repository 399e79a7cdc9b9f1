"""What the training of any model needs: phases, the loop, exact resume, processes, checkpoints, mined records."""
