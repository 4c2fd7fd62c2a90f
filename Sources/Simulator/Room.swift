enum SimulatorRoom {}
