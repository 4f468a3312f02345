import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { TroubleNotice } from '../parts/notice.tsx'

/** A view whose code is loaded when it is first shown. */
export function lazyView<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function LazyView(props: P) {
    const [View, setView] = useState<ComponentType<P> | undefined>(() => loaded)
    const [hasFailed, setHasFailed] = useState(false)
    useEffect(() => {
      if (View !== undefined) return
      load().then(
        (view) => {
          loaded = view
          setView(() => view)
        },
        () => setHasFailed(true),
      )
    }, [View])
    if (View !== undefined) return <View {...props} />
    if (!hasFailed) return null
    // After an upgrade the old page requests files that no longer exist.
    const trouble = { code: 'gone', message: 'A part of this page is no longer there; load the page again' }
    return <TroubleNotice trouble={trouble} onRetry={() => location.reload()} />
  }
}
