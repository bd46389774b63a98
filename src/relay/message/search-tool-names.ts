// The names of the two tools that stand for all others where tools are searched for.
export const FIND_TOOLS = 'find_tools';
export const CALL_TOOL = 'call_tool';
