// A host of MCP Apps as a page: it connects clients of either era, calls tools, reads their pages, and shows each in a sandboxed frame
// behind the official bridge. Bundled by the program, which calls `host`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
import { Client as SessionClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as SessionTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const INFO = { name: 'apps', version: '1.0.0' };
const CAPABILITIES = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const BRIDGE_CAPABILITIES = { openLinks: {}, serverTools: {}, serverResources: {}, logging: {}, message: { text: {} } };

const reports = {};

/** Records what the page in the frame asks its host for, and what it gets. */
function recordedTransport(frame, calls) {
  const transport = new PostMessageTransport(frame, frame);
  const asked = new Map();
  addEventListener('message', ({ source, data }) => {
    if (source !== frame || data?.id === undefined) return;
    const { name, uri } = data.params ?? {};
    if (data.method === 'tools/call' || data.method === 'resources/read') asked.set(data.id, name ?? uri);
  });
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const name = message.method === undefined ? asked.get(message.id) : undefined;
    if (name !== undefined) {
      const { error, result } = message;
      const outcome = error ? `error ${error.code} ${error.message}` : result.isError ? 'isError' : 'answered';
      (calls[name] ??= new Set()).add(outcome);
      asked.delete(message.id);
    }
    return send(message, options);
  };
  return transport;
}

async function connect(era, url, token, isDirect) {
  const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
  if (era === '2025-11-25') {
    const client = new SessionClient(INFO, { capabilities: CAPABILITIES });
    const transport = new SessionTransport(new URL(url), { requestInit });
    await client.connect(transport);
    return { client, version: transport.protocolVersion };
  }
  // The servers know no such revision: directly, the client falls back.
  const versionNegotiation = { mode: isDirect ? 'auto' : { pin: era } };
  const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return { client, version: client.getNegotiatedProtocolVersion() };
}

/** The bridge relays to the client of its own SDK by itself; for another, the host does. */
function bridgeTo(client) {
  const context = { theme: 'light', displayMode: 'inline', containerDimensions: { maxHeight: 2_000 } };
  const isOwn = client instanceof Client;
  const bridge = new AppBridge(isOwn ? client : null, INFO, BRIDGE_CAPABILITIES, { hostContext: context });
  if (!isOwn) {
    bridge.oncalltool = (params) => client.callTool(params);
    bridge.onreadresource = (params) => client.readResource(params);
    bridge.onlistresources = (params) => client.listResources(params);
  }
  bridge.onmessage = async () => ({});
  bridge.onopenlink = async () => ({});
  bridge.onupdatemodelcontext = async () => ({});
  return bridge;
}

/** Shows the page of a tool of one server, once the tool has been called. */
async function show(client, { label, name, args }) {
  const report = { calls: {}, sizes: 0, isInitialized: false };
  reports[label] = report;
  const { tools } = await client.listTools();
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`${name} is not among ${tools.map((each) => each.name).join()}`);
  const result = await client.callTool({ name, arguments: args });
  const uri = getToolUiResourceUri(tool);
  const [page] = (await client.readResource({ uri })).contents;
  Object.assign(report, { result, tool, listedCount: tools.length, page: { ...page, text: page.text.length } });
  if (page.uri !== uri) throw new Error(`${page.uri} was read as ${uri}`);
  const frame = document.createElement('iframe');
  frame.name = label;
  frame.sandbox = 'allow-scripts allow-forms';
  document.body.append(frame);
  const bridge = bridgeTo(client);
  bridge.onsizechange = ({ height }) => {
    report.sizes += 1;
    if (height !== undefined) frame.style.height = `${height}px`;
  };
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(recordedTransport(frame.contentWindow, report.calls));
  frame.srcdoc = page.text;
  await initialized;
  report.isInitialized = true;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(result);
  frame.style.width = '80%';
}

globalThis.host = {
  /** @param servers with the apps of each. @returns the versions spoken. */
  async open(servers) {
    const versions = [];
    for (const { era, url, token, isDirect, apps } of servers) {
      const { client, version } = await connect(era, url, token, isDirect);
      versions.push(version);
      for (const app of apps) await show(client, app);
    }
    return versions;
  },
  report(label) {
    const { calls, ...others } = reports[label] ?? { calls: {} };
    return { ...others, calls: Object.fromEntries(Object.entries(calls).map(([asked, all]) => [asked, [...all]])) };
  },
};
