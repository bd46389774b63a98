// A server's request in the middle of a call (elicitation or sampling), answered here by the user who called.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { blankEntries, valueOf, type FieldFaults } from '../../model/form-values.js';
import { formOf } from '../../model/schema-form.js';
import { CodeBlock, LongSaid } from '../../parts/said.js';
import { SchemaForm } from '../../parts/schema-form.js';
import type { Question, Run } from './run.js';

interface QuestionProps {
  readonly run: Run;
  readonly question: Question;
  /** Moves the focus away from the pressed button, which disappears with the form. */
  readonly onReply: () => void;
}

export function QuestionForm(props: QuestionProps): JSX.Element {
  return props.question.method === 'elicitation/create' ? <Elicitation {...props} /> : <Sampling {...props} />;
}

const NO_FAULTS: FieldFaults = new Map();

function Elicitation({ run, question, onReply }: QuestionProps): JSX.Element {
  const reply = (answer: Parameters<Run['reply']>[1]): void => {
    onReply();
    void run.reply(question, answer);
  };
  const { message, requestedSchema, mode, url } = question.params;
  const fields = useMemo(() => formOf(requestedSchema), [requestedSchema]);
  const [entries, setEntries] = useState(() => blankEntries(fields));
  const [faults, setFaults] = useState(NO_FAULTS);
  const isUrl = mode === 'url';
  const accept = (event: Event): void => {
    event.preventDefault();
    const { value, faults } = valueOf(fields, entries);
    setFaults(faults);
    if (faults.size === 0) reply({ result: { action: 'accept', ...(!isUrl && { content: value }) } });
  };
  return (
    <form class="card question" aria-label="The server asks" onSubmit={accept}>
      <h3>The server asks</h3>
      <LongSaid text={message} max={1_000} />
      {isUrl ? (
        <>
          <p class="note">It asks you to open this URL. Check it carefully: the console does not open it.</p>
          <CodeBlock label="Address" text={url} />
        </>
      ) : (
        <SchemaForm {...{ fields, entries, faults }} onChange={setEntries} />
      )}
      <div class="actions">
        <button class="main">{isUrl ? 'I have opened it' : 'Answer'}</button>
        <button type="button" onClick={() => reply({ result: { action: 'decline' } })}>
          Decline
        </button>
        <button type="button" onClick={() => reply({ result: { action: 'cancel' } })}>
          Dismiss
        </button>
      </div>
    </form>
  );
}

function Sampling({ run, question, onReply }: QuestionProps): JSX.Element {
  const reply = (answer: Parameters<Run['reply']>[1]): void => {
    onReply();
    void run.reply(question, answer);
  };
  const [text, setText] = useState('');
  const answer = (event: Event): void => {
    event.preventDefault();
    const content = { type: 'text', text };
    reply({ result: { role: 'assistant', content, model: 'a person', stopReason: 'endTurn' } });
  };
  const decline = { error: { code: -1, message: 'User rejected sampling request' } };
  return (
    <form class="card question" aria-label="The server asks a model" onSubmit={answer}>
      <h3>The server asks a model</h3>
      <p class="note">There is no model here: answer in its place, or decline.</p>
      <CodeBlock label="Request of the server" text={question.params} />
      <div class="field">
        <label for="sampled">Answer</label>
        <textarea id="sampled" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </div>
      <div class="actions">
        <button class="main">Answer</button>
        <button type="button" onClick={() => reply(decline)}>
          Decline
        </button>
      </div>
    </form>
  );
}
