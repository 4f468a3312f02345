import type { Step } from './play-story.ts'

interface Case {
  name: string
  about: string
  steps: readonly Step[]
}

/** The two cases of the paper's Figure 12, as its text describes them. */
export const CASES: readonly Case[] = [
  {
    name: 'upper case',
    about: 'α and β begin on two objects and meet on the first; β also did work before',
    steps: [
      { reads: [], writes: 'x' },
      { reads: [], writes: 'y' },
      { reads: ['y'], writes: 'y' },
      { reads: ['x', 'y'], writes: 'x' },
      { reads: ['x'], writes: 'x' },
    ],
  },
  {
    name: 'lower case',
    about: 'α and β meet on one object, then γ and β on another, and work goes on for both',
    steps: [
      { reads: [], writes: 'x' },
      { reads: [], writes: 'y' },
      { reads: [], writes: 'z' },
      { reads: ['x', 'y'], writes: 'x' },
      { reads: ['x'], writes: 'x' },
      { reads: ['z', 'y'], writes: 'z' },
      { reads: ['x'], writes: 'x' },
      { reads: ['z'], writes: 'z' },
    ],
  },
]
