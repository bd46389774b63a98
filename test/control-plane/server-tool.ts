/** A tool as its server sent it, with all members. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly [member: string]: unknown;
}
