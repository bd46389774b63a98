// What the fixture offers, as the conformance suite's server scenarios expect it: names, texts and schemas are the suite's.

/** One pixel. */
export const IMAGE_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
/** A RIFF header without samples. */
export const AUDIO_BASE64 = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const noArguments = { type: 'object', properties: {} };
const oneText = (name: string): object => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});

const tool = (name: string, description: string, inputSchema: object = noArguments): object => ({
  name,
  description,
  inputSchema,
});

export const tools: readonly object[] = [
  tool('test_simple_text', 'Answers with a text'),
  tool('test_image_content', 'Answers with an image'),
  tool('test_audio_content', 'Answers with a sound'),
  tool('test_embedded_resource', 'Answers with an embedded resource'),
  tool('test_multiple_content_types', 'Answers with a text, an image and a resource'),
  tool('test_tool_with_logging', 'Logs three times'),
  tool('test_tool_with_progress', 'Reports progress three times'),
  tool('test_error_handling', 'Fails'),
  tool('test_reconnection', 'Closes its stream and answers whoever resumes it'),
  tool('test_sampling', 'Asks for a completion', oneText('prompt')),
  tool('test_elicitation', 'Asks the user', oneText('message')),
  tool('test_elicitation_sep1034_defaults', 'Asks the user, with defaults'),
  tool('test_elicitation_sep1330_enums', 'Asks the user to choose'),
  tool('json_schema_2020_12_tool', 'Tool with JSON Schema 2020-12 features', {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
];

export const resources: readonly object[] = [
  { uri: 'test://static-text', name: 'static-text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static-binary', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched-resource', mimeType: 'text/plain' },
];

export const resourceTemplates: readonly object[] = [
  { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
];

const promptArgument = (name: string): object => ({ name, description: `Of the prompt: ${name}`, required: true });

export const prompts: readonly object[] = [
  { name: 'test_simple_prompt', description: 'One text' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A text of two arguments',
    arguments: [promptArgument('arg1'), promptArgument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A resource and a text',
    arguments: [promptArgument('resourceUri')],
  },
  { name: 'test_prompt_with_image', description: 'An image and a text' },
];

/** The schema of an elicitation, by the tool that sends it. */
export const elicitations = {
  test_elicitation: { type: 'object', properties: { response: { type: 'string' } }, required: ['response'] },
  test_elicitation_sep1034_defaults: {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
    required: [],
  },
  test_elicitation_sep1330_enums: {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: {
        type: 'string',
        oneOf: [
          { const: 'value1', title: 'First Option' },
          { const: 'value2', title: 'Second Option' },
          { const: 'value3', title: 'Third Option' },
        ],
      },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: {
        type: 'array',
        items: {
          anyOf: [
            { const: 'value1', title: 'First Choice' },
            { const: 'value2', title: 'Second Choice' },
            { const: 'value3', title: 'Third Choice' },
          ],
        },
      },
    },
    required: [],
  },
} as const;
