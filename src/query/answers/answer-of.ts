import type { z } from 'zod'

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Frozen<T[Name]> }
    : T

/** What an answer of this shape is, to whoever makes or reads it. */
export type AnswerOf<Shape extends z.ZodType> = Frozen<z.infer<Shape>>
