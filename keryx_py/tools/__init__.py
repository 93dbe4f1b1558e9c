"""What the agent can do to the project: one module for each kind of tool."""
