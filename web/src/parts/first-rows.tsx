import { useState } from 'preact/hooks'

/** The most rows rendered at once. */
const ROWS = 200

/** The first of many rows, and a button for more if there are more. */
export function useFirstRows<Row>(rows: readonly Row[]) {
  const [count, setCount] = useState(ROWS)
  const left = rows.length - count
  const more = left > 0 && (
    <p>
      <button type="button" class="quiet" onClick={() => setCount(count + ROWS)}>
        {`Show ${Math.min(ROWS, left).toLocaleString('en')} of ${left.toLocaleString('en')} more`}
      </button>
    </p>
  )
  return { shown: rows.slice(0, count), more }
}
