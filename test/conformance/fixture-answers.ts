// The answers of both eras' fixtures that need no request to the client, as the suite's scenarios expect them.
import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/sdk/types.js';
import { AUDIO_BASE64, IMAGE_BASE64 } from './fixture-offers.js';

export const text = (value: string): { type: 'text'; text: string } => ({ type: 'text', text: value });
const image = { type: 'image', data: IMAGE_BASE64, mimeType: 'image/png' } as const;

/** @returns `undefined` for a tool that does more, or is unknown. */
export function plainResult(tool: string): CallToolResult | undefined {
  switch (tool) {
    case 'test_simple_text':
      return { content: [text('This is a simple text response for testing.')] };
    case 'test_image_content':
      return { content: [image] };
    case 'test_audio_content':
      return { content: [{ type: 'audio', data: AUDIO_BASE64, mimeType: 'audio/wav' }] };
    case 'test_embedded_resource':
      return {
        content: [
          {
            type: 'resource',
            resource: {
              uri: 'test://embedded-resource',
              mimeType: 'text/plain',
              text: 'This is an embedded resource content.',
            },
          },
        ],
      };
    case 'test_multiple_content_types':
      return {
        content: [
          text('Multiple content types test:'),
          image,
          {
            type: 'resource',
            resource: {
              uri: 'test://mixed-content-resource',
              mimeType: 'application/json',
              text: '{"test":"data","value":123}',
            },
          },
        ],
      };
    case 'test_error_handling':
      return { content: [text('This tool intentionally returns an error for testing')], isError: true };
    default:
      return undefined;
  }
}

/** @returns `undefined` for an unknown resource. */
export function readResource(uri: string): ReadResourceResult | undefined {
  const templated = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (templated !== undefined) {
    const data = { id: templated, templateTest: true, data: `Data for ID: ${templated}` };
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }] };
  }
  switch (uri) {
    case 'test://static-text':
      return {
        contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
      };
    case 'test://static-binary':
      return { contents: [{ uri, mimeType: 'image/png', blob: IMAGE_BASE64 }] };
    case 'test://watched-resource':
      return { contents: [{ uri, mimeType: 'text/plain', text: `Watched at ${new Date().toISOString()}` }] };
    default:
      return undefined;
  }
}

/** @returns `undefined` for an unknown prompt. */
export function getPrompt(name: string, given: Readonly<Record<string, string>>): GetPromptResult | undefined {
  const user = (content: GetPromptResult['messages'][number]['content']): GetPromptResult['messages'][number] => ({
    role: 'user',
    content,
  });
  switch (name) {
    case 'test_simple_prompt':
      return { messages: [user(text('This is a simple prompt for testing.'))] };
    case 'test_prompt_with_arguments':
      return {
        messages: [user(text(`Prompt with arguments: arg1='${given['arg1']}', arg2='${given['arg2']}'`))],
      };
    case 'test_prompt_with_embedded_resource':
      return {
        messages: [
          user({
            type: 'resource',
            resource: {
              uri: given['resourceUri'] ?? '',
              mimeType: 'text/plain',
              text: 'Embedded resource content for testing.',
            },
          }),
          user(text('Please process the embedded resource above.')),
        ],
      };
    case 'test_prompt_with_image':
      return { messages: [user(image), user(text('Please analyze the image above.'))] };
    default:
      return undefined;
  }
}
