package cpid

import "slices"

// Merge gives the trace context for work that follows from all of these, and the sources of its mergelog (Algorithm 1 of the
// paper, with the ancestors of its section 3.5).
//
// A CPID that is known to descend from all the others stands for them: isNew is false, and there is nothing to tell. What counts as
// known is what the contexts list, also through each other: where a lists b and b lists c, a descends from c. Otherwise the CPID is
// one of newCPID, and its sources are those that none of the others descends from; none at all, where there are no contexts and a
// root begins. Contexts that claim each other as ancestors cannot all be right: then every CPID is a source, and no list is
// passed on.
//
// The ancestors are nearest first: a CPID that stands keeps its list and gains at its end what the others add; a new one has its
// sources, then theirs in turn. The same CPID twice is one, with both lists. Contexts without a CPID count for nothing.
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

// standing spares a copy of the list where nothing came to it.
func standing(own Context, found []string) Context {
	ancestors := found[1:]
	if len(ancestors) <= len(own.Ancestors) && slices.Equal(ancestors, own.Ancestors[:len(ancestors)]) {
		return Context{own.CPID, own.Ancestors[:len(ancestors):len(ancestors)]}
	}
	return Context{own.CPID, slices.Clone(ancestors)}
}

// With no more than this, a merge does with the stack and looks CPIDs up one by one.
const smallMerge = 16

// merger has what is known while contexts merge. Contexts of one CPID are a group.
type merger struct {
	contexts []Context
	groups   []group
	next     []int // the next context of the same group, by context
	index    map[string]int
}

// buffers are what a small merge needs, on the stack of Merge.
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

// grouped returns what a method would store: what is stored behind a pointer cannot stay on the stack.
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

// find gives the group of a CPID, or -1.
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

// heads are the groups that none of the others lists, and whether no group, by what is listed, descends from itself.
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

// eachClaim calls with each group that a context lists as an ancestor; what it says of itself is no claim.
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

// addTheirs adds what those already found list as their ancestors.
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

// addInTurn adds from each list its first, then from each its second, and so on. Where it goes on, a CPID that comes up brings in its
// own lists, one place further away.
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
