import { useEffect, useState } from 'preact/hooks'
import { fetchAnswer } from './fetch-answer.ts'

/** What came before the first page of a list, on request; forgotten when `question` changes. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller knows the shape of a page
export function useOlder<Page extends { readonly next: string | null }, Item>(
  question: string,
  pathAfter: (after: string) => string,
  itemsOf: (page: Page) => readonly Item[],
) {
  const [items, setItems] = useState<readonly Item[]>([])
  const [next, setNext] = useState<string | null>()
  const [isLoading, setIsLoading] = useState(false)
  useEffect(() => {
    setItems([])
    setNext(undefined)
  }, [question])

  const load = async (after: string) => {
    setIsLoading(true)
    const fetched = await fetchAnswer<Page>(pathAfter(after), { signal: new AbortController().signal })
    setIsLoading(false)
    if (fetched.kind !== 'new') return
    setItems([...items, ...itemsOf(fetched.data)])
    setNext(fetched.data.next)
  }
  return { items, next, isLoading, load }
}
