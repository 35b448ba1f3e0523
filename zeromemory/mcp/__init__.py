"""The agents' door: tools, resources and prompts of the Model Context Protocol over the services that pages use."""
