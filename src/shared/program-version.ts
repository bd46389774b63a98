// The program's version, as `--version` and MCP's `serverInfo` tell it. A test holds it against package.json.

export const PROGRAM_VERSION = '0.1.0';
