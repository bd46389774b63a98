// The course of a request: progress as it arrives, the server's questions, the response, and both messages as sent.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { RpcMessage } from '../../api/mcp.js';
import { curlText } from '../../model/curl-text.js';
import { Copied } from '../../parts/copied.js';
import { Fault } from '../../parts/notices.js';
import { CodeBlock, LongSaid, Said } from '../../parts/said.js';
import { Content } from './content.js';
import { QuestionForm } from './question-form.js';
import { STATE_LOOKS, STATE_WORDS, type Run } from './run.js';

export function RunView({ run }: { readonly run: Run }): JSX.Element {
  const { state, headMs, totalMs, split, fault, questions, notices } = run;
  const outcome = useRef<HTMLHeadingElement>(null);
  /** A button that disappears when pressed passes the focus to the outcome. */
  const focusOutcome = (): void => outcome.current?.focus();
  const told = [
    headMs.value !== undefined && `first byte after ${Math.round(headMs.value)} ms`,
    totalMs.value !== undefined && `complete after ${Math.round(totalMs.value)} ms`,
  ].filter((words) => words !== false);
  return (
    <section class="card" aria-labelledby="outcome">
      <div role="status" class="outcome">
        <h2 id="outcome" ref={outcome} tabIndex={-1}>
          <span class={`status ${STATE_LOOKS[state.value]}`}>{STATE_WORDS[state.value]}</span>
        </h2>
        {told.length > 0 && <p class="note">{told.join(', ')}</p>}
        {split.value !== '' && <p class="note split">Timed by the control plane: {split.value}</p>}
      </div>
      {state.value === 'underway' && (
        <button
          type="button"
          onClick={() => {
            focusOutcome();
            void run.cancel();
          }}
        >
          Cancel the request
        </button>
      )}
      {questions.value.map((question) => (
        <QuestionForm key={question.id} run={run} question={question} onReply={focusOutcome} />
      ))}
      {notices.value.length > 0 && (
        <ol class="notices" aria-label="Before the response">
          {notices.value.map((notice, index) => (
            <Notice key={index} notice={notice} />
          ))}
        </ol>
      )}
      <Fault words={fault.value} />
      <Answer run={run} />
      <Bytes run={run} />
    </section>
  );
}

function Notice({ notice: { method, params = {} } }: { readonly notice: RpcMessage }): JSX.Element {
  const { progress, total, message, level, data } = params;
  if (method === 'notifications/progress') {
    const isMeasured = typeof progress === 'number' && typeof total === 'number' && total > 0;
    return (
      <li>
        {isMeasured && <progress value={progress} max={total} aria-label="Progress" />}{' '}
        <Said text={isMeasured ? `${progress} of ${total}` : progress} max={40} /> <Said text={message} />
      </li>
    );
  }
  return (
    <li>
      <Said text={level ?? method} max={40} /> <LongSaid text={method === 'notifications/message' ? data : params} />
    </li>
  );
}

function Answer({ run }: { readonly run: Run }): JSX.Element | null {
  const answer = run.answer.value;
  if (answer === undefined) return null;
  const { error, result } = answer;
  if (error !== undefined) {
    return (
      <div class="fault" role="alert">
        <p>
          <Said text={error.message} max={2_000} />{' '}
          <span class="note">
            code <Said text={error.code ?? 'missing'} max={40} />
          </span>
        </p>
        {error.data !== undefined && <CodeBlock label="Data of the error" text={error.data} />}
      </div>
    );
  }
  return <Content result={result} />;
}

function Bytes({ run }: { readonly run: Run }): JSX.Element {
  const wire = run.wire.value;
  if (wire === undefined) return <></>;
  const curl = curlText(wire);
  const head = Object.entries(wire.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <details>
      <summary>Raw request and response</summary>
      <h3>Request</h3>
      <CodeBlock label="Request" text={`POST ${wire.url}\n${head.join('\n')}\n\n${wire.body}`} />
      <h3>As curl</h3>
      <Copied text={curl} what="the command" words="Copied without the token: set SWITCHYARD_TOKEN first">
        <CodeBlock label="As curl" text={curl} />
      </Copied>
      <h3>Answer, status {run.status.value || 'not there yet'}</h3>
      <CodeBlock label="Answer" text={run.text.value} />
    </details>
  );
}
