// Lists of tools as large as those of real servers: about a kilobyte each, most of it the schema of the arguments.

const PROPERTIES = ['workspace', 'query', 'labels', 'createdAfter', 'pageSize'];

/** The tools of one backend as they are between the brackets of its list. All ASCII. */
export function toolTexts(count: number, prefix = ''): string[] {
  return Array.from({ length: count }, (_, number) => JSON.stringify(createTool(number, prefix)));
}

/** The exact response to `tools/list`. @param id byte for byte as in the request. */
export function listAnswer(id: string, toolsAsText: readonly string[]): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${toolsAsText.join(',')}]}}`;
}

function createTool(number: number, prefix: string): unknown {
  const properties = PROPERTIES.map((name) => {
    const description = `What the ${name} of an issue must be like for tool ${number} to find it; anything when it is left out.`;
    return [
      name,
      name === 'labels' ? { type: 'array', items: { type: 'string' }, description } : { type: 'string', description },
    ];
  });
  return {
    // Padded, so that the names sort in numerical order, as a gateway sorts them.
    name: `${prefix}search_issues_${String(number).padStart(4, '0')}`,
    title: `Search issues, variant ${number}`,
    description:
      'Finds the issues of a workspace that match a query, newest first, a page at a time. Give the cursor of the last ' +
      'page to get the next one. Archived issues are left out unless the query names them.',
    inputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: Object.fromEntries(properties) as unknown,
      required: ['workspace', 'query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}
