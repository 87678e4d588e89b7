"""What runs in the process that trains or serves: apply and measure."""
