// A result, as far as it can be shown: text as text, pictures only from data in the response itself, the rest as JSON.
import type { JSX } from 'preact';
import { Copied } from '../../parts/copied.js';
import { CodeBlock, LongSaid } from '../../parts/said.js';

interface Block {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly data?: unknown;
  readonly mimeType?: unknown;
}

interface Result {
  readonly content?: unknown;
  readonly isError?: unknown;
  readonly structuredContent?: unknown;
}

const BLOCKS_MAX = 100;
/** Image types that cannot contain scripts or references. */
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/;
const PICTURE_CHARS_MAX = 4_000_000;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function Content({ result }: { readonly result: unknown }): JSX.Element {
  const { content, isError, structuredContent } = (result ?? {}) as Result;
  if (!Array.isArray(content)) {
    return (
      <Copied text={JSON.stringify(result, null, 2)} what="the result">
        <CodeBlock label="Result" text={result} />
      </Copied>
    );
  }
  return (
    <Copied text={textOf(content) ?? JSON.stringify(result, null, 2)} what="the result">
      <div class={isError === true ? 'fault' : 'result'}>
        {isError === true && <p>The tool reported a failure:</p>}
        {content.slice(0, BLOCKS_MAX).map((block: unknown, index) => (
          <BlockView key={index} block={block} />
        ))}
        {content.length > BLOCKS_MAX && <p class="note">{content.length - BLOCKS_MAX} more are in the raw response.</p>}
        {structuredContent !== undefined && <CodeBlock label="Structured content" text={structuredContent} />}
      </div>
    </Copied>
  );
}

/** @returns `undefined` if anything is not text. */
function textOf(content: readonly unknown[]): string | undefined {
  const texts = content.map((block) => {
    const { type, text } = (block ?? {}) as Block;
    return type === 'text' && typeof text === 'string' ? text : undefined;
  });
  return texts.includes(undefined) ? undefined : texts.join('\n');
}

function BlockView({ block }: { readonly block: unknown }): JSX.Element {
  const { type, text, data, mimeType } = (block ?? {}) as Block;
  if (type === 'text') return <LongSaid text={text} max={5_000} />;
  const isPicture = type === 'image' && typeof mimeType === 'string' && PICTURES.test(mimeType);
  if (isPicture && typeof data === 'string' && data.length < PICTURE_CHARS_MAX && BASE64.test(data)) {
    return <img class="picture" src={`data:${mimeType};base64,${data}`} alt="Picture in the result" />;
  }
  return <CodeBlock label="Part of the result" text={block} />;
}
