// The interactive commands that query a running control plane: each prints the response as a table or as JSON.
// Exit statuses: command-result.ts.
import type { controlPlaneClientOptions, ValuesOf } from '../config/index.js';
import { ControlPlaneConnection } from './control-plane-connection.js';
import { print, printResult, type CommandResult } from './command-result.js';
import { callerView, type Columns } from './views.js';

/** What a command works with. */
export interface CommandContext {
  readonly connection: ControlPlaneConnection;
  readonly columns: Columns;
  /** Prints a part of the text before the command is done; nothing if JSON is wanted, which is one document. */
  readonly print: (text: string) => Promise<void>;
}

/** Resolves with the program's exit status once everything is printed. @param perform throws a CliFault. */
export async function runCli(
  { controlPlaneUrl, token, isJson }: ValuesOf<typeof controlPlaneClientOptions>,
  perform: (way: CommandContext) => Promise<CommandResult>,
): Promise<number> {
  const connection = new ControlPlaneConnection(controlPlaneUrl, token);
  const { columns } = process.stdout;
  const printPart = async (text: string): Promise<void> => (isJson ? undefined : print(process.stdout, text));
  const status = await printResult(isJson, () => perform({ connection, columns, print: printPart }));
  const { unpublishedCount } = connection;
  if (unpublishedCount > 0) {
    const words = `done, but ${unpublishedCount} user configs are still being written`;
    await print(process.stderr, `switchyard: ${words}\n`);
  }
  return status;
}

export async function whoami(_action: object, { connection }: CommandContext): Promise<CommandResult> {
  const answer = await connection.request('GET', '/whoami');
  return { answer, text: callerView(answer) };
}
