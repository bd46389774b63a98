// A long list of rows of one height, of which only those in sight exist. It is one stop of the Tab key: arrow keys, Home, End and the page
// keys move within it. Each row has one control with the attribute `data-row`, which gets the focus.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** @param tabIndex of the row's control. */
  readonly draw: (row: Row, tabIndex: number) => JSX.Element;
  /** A key that the list does not use itself, pressed on a row. @returns whether it was used. */
  readonly onKey?: (row: Row, key: string) => boolean;
}

/** In `rem`, as in the style sheet. */
const ROW_REM = 2.5;
/** Rows beyond the edges, so that scrolling shows no gap. */
const SPARE = 8;

export function VirtualList<Row>({ label, rows, keyOf, draw, onKey }: VirtualListProps<Row>): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [rowHeight] = useState(() => ROW_REM * parseFloat(getComputedStyle(document.documentElement).fontSize));
  const [{ top, height }, setView] = useState({ top: 0, height: 800 });
  const [at, setAt] = useState(0);
  const [isFocusDue, setFocusDue] = useState(false);
  const current = Math.min(at, Math.max(0, rows.length - 1));
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  useEffect(() => {
    if (!isFocusDue) return;
    setFocusDue(false);
    frame.current?.querySelector<HTMLElement>(`[data-at="${current}"] [data-row]`)?.focus({ preventScroll: true });
  }, [isFocusDue, current]);
  const go = (to: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    const element = frame.current;
    if (element === null) return;
    if (next * rowHeight < element.scrollTop) element.scrollTop = next * rowHeight;
    else if ((next + 1) * rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = (next + 1) * rowHeight - element.clientHeight;
    setView({ top: element.scrollTop, height: element.clientHeight });
    setAt(next);
    setFocusDue(true);
  };
  const move = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page },
      ...{ Home: 0, End: rows.length - 1 },
    };
    const to = steps[event.key];
    const row = rows[current];
    if (to !== undefined) go(to);
    else if (row === undefined || onKey?.(row, event.key) !== true) return;
    event.preventDefault();
  };
  const first = Math.max(0, Math.floor(top / rowHeight) - SPARE);
  const shown = rows.slice(first, Math.ceil((top + height) / rowHeight) + SPARE);
  // The row that Tab leads to exists also when it is out of sight.
  const isOut = current < first || current >= first + shown.length;
  const draws = [...shown.entries()].map(([index, row]) => [first + index, row] as const);
  const kept = rows[current];
  if (isOut && kept !== undefined) draws.push([current, kept]);
  return (
    <div
      class="virtual"
      ref={frame}
      onKeyDown={move}
      onFocusIn={({ target }) => {
        const row = (target as HTMLElement).closest('[data-at]')?.getAttribute('data-at');
        if (row !== undefined && row !== null) setAt(Number(row));
      }}
    >
      <ul aria-label={label} style={{ height: `${rows.length * rowHeight}px` }}>
        {draws.map(([index, row]) => (
          <li
            key={keyOf(row)}
            data-at={index}
            aria-setsize={rows.length}
            aria-posinset={index + 1}
            style={{ top: `${index * rowHeight}px` }}
          >
            {draw(row, index === current ? 0 : -1)}
          </li>
        ))}
      </ul>
    </div>
  );
}
