// The names of the two tools that stand in for all others on a virtual host with `"exposure": "search"`.
export const FIND_TOOLS = 'find_tools';
export const CALL_TOOL = 'call_tool';

export function isSearchTool(name: string): boolean {
  return name === FIND_TOOLS || name === CALL_TOOL;
}
