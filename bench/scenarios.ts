// The scenarios: what one connection asks of a target, and with how many connections.
import { backendNames, type BackendName } from './backend-names.js';
import type { Script, Step } from './load-plan.js';
import { asEventStream, TOOL_ARGUMENTS, TOOL_NAME, toolAnswer, type AnswerStyle } from './tool.js';

export const scenarioNames = ['call', 'call-sse', 'session'] as const;

export type ScenarioName = (typeof scenarioNames)[number];

export interface Scenario {
  readonly name: ScenarioName;
  /** What a cost is counted by. */
  readonly unit: 'call' | 'session';
  readonly backendStyle: AnswerStyle;
  /** Runs of their own in full mode. */
  readonly connectionCounts: readonly number[];
  /** The same in quick mode. */
  readonly quickConnectionCounts: readonly number[];
  /** The loop of the script is one unit. */
  readonly createScript: (hop: Hop, connection: number) => Script;
}

/** What stands in front of the backends, as far as a request must know. */
export type Hop =
  /** One path for all backends, which are told apart by the tool's name. */
  | { readonly kind: 'gateway'; path(style: AnswerStyle): string; toolName(backend: BackendName, tool: string): string }
  /** A path for each backend, whose answers come as they are. */
  | { readonly kind: 'plain'; path(style: AnswerStyle, backend: BackendName): string };

const CALLS_PER_SESSION = 10;
const SESSION_USERS = 120;

function callScenario(name: ScenarioName, backendStyle: AnswerStyle): Scenario {
  return {
    name,
    unit: 'call',
    backendStyle,
    connectionCounts: [1, 16, 64, 256],
    quickConnectionCounts: [16, 64],
    createScript: (hop, connection) => {
      const steps = new StepMaker(hop, backendStyle, connection);
      return { opening: steps.opening(), loop: [steps.call(steps.homeBackend)], closing: [steps.closing()] };
    },
  };
}

export const scenarios: Readonly<Record<ScenarioName, Scenario>> = {
  call: callScenario('call', 'json'),
  'call-sse': callScenario('call-sse', 'event-stream'),
  session: {
    name: 'session',
    unit: 'session',
    backendStyle: 'json',
    connectionCounts: [SESSION_USERS],
    quickConnectionCounts: [SESSION_USERS],
    createScript: (hop, connection) => {
      const steps = new StepMaker(hop, 'json', connection);
      const calls = Array.from({ length: CALLS_PER_SESSION }, (_, index) =>
        steps.call(hop.kind === 'plain' ? steps.homeBackend : steps.backend(index)),
      );
      // The yardstick makes the hops that a gateway makes upstream: a session with each of the two backends, 16 in all.
      const sessions = hop.kind === 'plain' ? backendNames.length : 1;
      const times = <T>(make: () => T): T[] => Array.from({ length: sessions }, make);
      const loop = [...times(() => steps.opening()).flat(), ...calls, ...times(() => steps.closing())];
      return { opening: [], loop, closing: [] };
    },
  },
};

/** Requests of one connection. Its number is the JSON-RPC id of its calls, so an answer that strays is a wrong body. */
class StepMaker {
  readonly #hop: Hop;
  readonly #style: AnswerStyle;
  readonly #connection: number;

  constructor(hop: Hop, style: AnswerStyle, connection: number) {
    this.#hop = hop;
    this.#style = style;
    this.#connection = connection;
  }

  /** Where a connection's plain hops go; half of the connections have each. */
  get homeBackend(): BackendName {
    return this.backend(this.#connection);
  }

  backend(number: number): BackendName {
    return backendNames[number % backendNames.length] ?? backendNames[0];
  }

  opening(): Step[] {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'switchyard-bench', version: '1.0.0' },
    };
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    return [
      { method: 'POST', path: this.#path(), body: initialize, session: 'opens', expectedBody: undefined },
      { method: 'POST', path: this.#path(), body: initialized, session: 'carries', expectedBody: '' },
    ];
  }

  call(backend: BackendName): Step {
    const toolName = this.#hop.kind === 'gateway' ? this.#hop.toolName(backend, TOOL_NAME) : TOOL_NAME;
    const params = `{"name":"${toolName}","arguments":${TOOL_ARGUMENTS}}`;
    const answer = toolAnswer(backend, String(this.#connection));
    return {
      method: 'POST',
      path: this.#path(),
      body: `{"jsonrpc":"2.0","id":${this.#connection},"method":"tools/call","params":${params}}`,
      session: 'carries',
      // A gateway answers with one JSON object when the backend's first event is the answer already (decisions 2.2).
      expectedBody: this.#hop.kind === 'plain' && this.#style === 'event-stream' ? asEventStream(answer) : answer,
    };
  }

  closing(): Step {
    return { method: 'DELETE', path: this.#path(), body: undefined, session: 'carries', expectedBody: '' };
  }

  #path(): string {
    return this.#hop.kind === 'gateway' ? this.#hop.path(this.#style) : this.#hop.path(this.#style, this.homeBackend);
  }
}
