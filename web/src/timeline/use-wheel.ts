import { useEffect, useRef } from 'preact/hooks'

/** Listens to the wheel on an element. Preact would listen passively, and the page would zoom too. */
export function useWheel(
  of: { readonly current: HTMLElement | null },
  onWheel: (event: WheelEvent) => void,
): void {
  const wheel = useRef(onWheel)
  wheel.current = onWheel
  useEffect(() => {
    const element = of.current
    const listen = (event: WheelEvent) => wheel.current(event)
    element?.addEventListener('wheel', listen, { passive: false })
    return () => element?.removeEventListener('wheel', listen)
  }, [of])
}
