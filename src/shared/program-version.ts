// The program's version, as reported by `--version` and MCP's `serverInfo`. A test compares it with package.json.

export const PROGRAM_VERSION = '0.1.0';
