export type { AdminContext } from './admin-commands.js';
export type { CommandResult } from './command-result.js';
export type { CommandContext } from './control-plane-connection.js';
