package cpid

import "slices"

// Merge returns the trace context for work that follows from all of these, and the sources of its mergelog (Algorithm 1 of the
// paper, with the ancestors of its section 3.5).
//
// If a CPID is known to descend from all the others, it is the result: isNew is false, and there is no mergelog. Descent is known from
// the lists, also transitively: if a lists b and b lists c, a descends from c. Otherwise the CPID comes from newCPID, and its sources are
// those that none of the others descends from; without contexts it is a root without sources. If contexts claim each other as ancestors,
// the lists are ignored: every CPID is a source, without ancestors.
//
// The ancestors are nearest first: an existing CPID keeps its list, with those of the others appended; a new one has its sources, then
// their ancestors in turn. Contexts of the same CPID count as one, with both lists. Contexts without a CPID are ignored.
func Merge(contexts []Context, maxAncestors int, newCPID func() string) (merged Context, sources []string, isNew bool) {
	var b buffers
	m := grouped(contexts, b.groups[:0], b.next[:0])
	heads, isSound := m.heads(b.heads[:0], b.passed[:0])
	most := maxAncestors + 1
	if len(heads) == 1 && isSound {
		own := contexts[m.groups[heads[0]].first]
		found := append(b.found[:0], own.CPID)
		open := m.cursorsOf(heads[0], b.open[:0])
		found = m.addInTurn(found, most, open, false)
		found = m.addTheirs(found, most, b.open[:0])
		return standing(own, found), nil, false
	}
	if !isSound {
		heads = b.heads[:0]
		for g := range m.groups {
			heads = append(heads, g)
		}
	}
	sources = make([]string, 0, len(heads))
	for _, g := range heads {
		sources = append(sources, m.idOf(g))
	}
	found := append(b.found[:0], newCPID())
	found = append(found, sources[:min(len(sources), maxAncestors)]...)
	if isSound {
		found = m.addTheirs(found, most, b.open[:0])
	}
	return Context{found[0], slices.Clone(found[1:])}, sources, true
}

// standing returns an existing CPID with its ancestors, without copying the list if nothing was added.
func standing(own Context, found []string) Context {
	ancestors := found[1:]
	if len(ancestors) <= len(own.Ancestors) && slices.Equal(ancestors, own.Ancestors[:len(ancestors)]) {
		return Context{own.CPID, own.Ancestors[:len(ancestors):len(ancestors)]}
	}
	return Context{own.CPID, slices.Clone(ancestors)}
}

// Up to this many contexts, a merge uses only the stack and a linear search.
const smallMerge = 16

// merger is the state of a merge. Contexts of one CPID form a group.
type merger struct {
	contexts []Context
	groups   []group
	next     []int // the next context of the same group, by context
	index    map[string]int
}

// buffers are the memory of a small merge, on the stack of Merge.
type buffers struct {
	groups [smallMerge]group
	next   [smallMerge]int
	heads  [smallMerge]int
	passed [smallMerge]int
	found  [smallMerge + 1]string
	open   [2 * smallMerge]cursor
}

type group struct{ first, last, claims int }

type cursor struct{ context, at int }

// grouped groups contexts by CPID. It is not a method, since storing the slices behind a pointer would move them to the heap.
func grouped(contexts []Context, groups []group, next []int) merger {
	m := merger{contexts: contexts, groups: groups}
	if len(contexts) > smallMerge {
		m.index = make(map[string]int, len(contexts))
	}
	for i := range contexts {
		next = append(next, -1)
		id := contexts[i].CPID
		if id == "" {
			continue
		}
		if g := m.find(id); g >= 0 {
			next[m.groups[g].last] = i
			m.groups[g].last = i
			continue
		}
		if m.index != nil {
			m.index[id] = len(m.groups)
		}
		m.groups = append(m.groups, group{first: i, last: i})
	}
	m.next = next
	return m
}

func (m *merger) idOf(g int) string { return m.contexts[m.groups[g].first].CPID }

// find returns the group of a CPID, or -1.
func (m *merger) find(id string) int {
	if m.index != nil {
		if g, ok := m.index[id]; ok {
			return g
		}
		return -1
	}
	if id == "" {
		return -1
	}
	last := id[len(id)-1]
	for g := range m.groups {
		if own := m.idOf(g); own[len(own)-1] == last && own == id {
			return g
		}
	}
	return -1
}

// heads returns the groups that no other one lists, and whether the lists are free of cycles.
func (m *merger) heads(heads, passed []int) ([]int, bool) {
	for i := range m.contexts {
		m.eachClaim(i, func(g int) { m.groups[g].claims++ })
	}
	for g := range m.groups {
		if m.groups[g].claims == 0 {
			heads = append(heads, g)
		}
	}
	if len(heads) == len(m.groups) {
		return heads, true
	}
	passed = append(passed, heads...)
	for at := 0; at < len(passed); at++ {
		for i := m.groups[passed[at]].first; i >= 0; i = m.next[i] {
			m.eachClaim(i, func(g int) {
				if m.groups[g].claims--; m.groups[g].claims == 0 {
					passed = append(passed, g)
				}
			})
		}
	}
	return heads, len(passed) == len(m.groups)
}

// eachClaim calls claim with each group that a context lists as an ancestor, except its own.
func (m *merger) eachClaim(i int, claim func(g int)) {
	context := &m.contexts[i]
	if context.CPID == "" {
		return
	}
	for _, ancestor := range context.Ancestors {
		if g := m.find(ancestor); g >= 0 && ancestor != context.CPID {
			claim(g)
		}
	}
}

func (m *merger) cursorsOf(g int, to []cursor) []cursor {
	for i := m.groups[g].first; i >= 0; i = m.next[i] {
		to = append(to, cursor{context: i})
	}
	return to
}

// addTheirs adds the listed ancestors of the CPIDs found so far.
func (m *merger) addTheirs(found []string, most int, open []cursor) []string {
	if len(found) >= most {
		return found
	}
	for _, id := range found {
		if g := m.find(id); g >= 0 {
			open = m.cursorsOf(g, open)
		}
	}
	return m.addInTurn(found, most, open, true)
}

// addInTurn adds the first of each list, then the second of each, and so on. With goesOn, an added CPID brings in its own lists, one
// position later.
func (m *merger) addInTurn(found []string, most int, open []cursor, goesOn bool) []string {
	for len(open) > 0 && len(found) < most {
		inThisTurn, kept := len(open), 0
		for turn := range inThisTurn {
			c := open[turn]
			list := m.contexts[c.context].Ancestors
			if c.at >= len(list) {
				continue
			}
			id := list[c.at]
			open[kept] = cursor{c.context, c.at + 1}
			kept++
			if id == "" || contains(found, id) {
				continue
			}
			found = append(found, id)
			if len(found) >= most {
				return found
			}
			if !goesOn {
				continue
			}
			if g := m.find(id); g >= 0 {
				open = m.cursorsOf(g, open)
			}
		}
		open = append(open[:kept], open[inThisTurn:]...)
	}
	return found
}
