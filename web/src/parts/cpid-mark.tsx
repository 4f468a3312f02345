import { CopyButton } from './copy-button.tsx'

interface CpidMarkProps {
  cpid: string
  href?: string
  /** Shows all digits, with a copy button. */
  isWhole?: boolean
}

/** A CPID. Shows its first digits unless all are requested. */
export function CpidMark({ cpid, href, isWhole = false }: CpidMarkProps) {
  const text = <span class="mono">{isWhole ? cpid : cpid.slice(0, 8)}</span>
  return (
    <span class="cpid-mark" title={cpid}>
      {href === undefined ? text : <a href={href}>{text}</a>}
      {isWhole && <CopyButton text={cpid} what="CPID" />}
    </span>
  )
}
