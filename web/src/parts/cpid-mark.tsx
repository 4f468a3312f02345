import { CopyButton } from './copy-button.tsx'

interface CpidMarkProps {
  cpid: string
  href?: string
  /** The whole of it, with a button that copies it. */
  isWhole?: boolean
}

/** A CPID, its first digits unless all are wanted. */
export function CpidMark({ cpid, href, isWhole = false }: CpidMarkProps) {
  const text = <span class="mono">{isWhole ? cpid : cpid.slice(0, 8)}</span>
  return (
    <span class="cpid-mark" title={cpid}>
      {href === undefined ? text : <a href={href}>{text}</a>}
      {isWhole && <CopyButton text={cpid} what="CPID" />}
    </span>
  )
}
