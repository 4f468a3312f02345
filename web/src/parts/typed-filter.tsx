import { useEffect, useState } from 'preact/hooks'

interface TypedFilterProps {
  /** Must be unique on the page. */
  name: string
  label: string
  chosen: string
  onChoose: (value: string) => void
  placeholder?: string
  options?: readonly string[] | undefined
}

/** Takes effect on Enter, on leaving the field, or at once when one of the options is picked. */
export function TypedFilter({
  name,
  label,
  chosen,
  onChoose,
  placeholder = 'any',
  options = [],
}: TypedFilterProps) {
  const [text, setText] = useState(chosen)
  useEffect(() => setText(chosen), [chosen])
  return (
    <label>
      {label}
      <input
        type="text"
        value={text}
        placeholder={placeholder}
        list={options.length > 0 ? `${name}-options` : undefined}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value)
          if (options.includes(event.currentTarget.value)) onChoose(event.currentTarget.value)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onChoose(event.currentTarget.value.trim())
        }}
        onBlur={(event) => onChoose(event.currentTarget.value.trim())}
      />
      {options.length > 0 && (
        <datalist id={`${name}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  )
}
