// Event streams as the tests read them: the messages in `data`, without the comments and the empty priming events.
import { createParser } from 'eventsource-parser';

/** The data of each event of a whole stream, in order. */
export function readEvents(body: Uint8Array): string[] {
  const events: string[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '') events.push(data);
    },
  });
  parser.feed(Buffer.from(body).toString('utf8'));
  return events;
}
