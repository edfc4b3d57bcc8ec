// ControlDoor
