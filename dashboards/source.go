package dashboards

// Source is a kind of data source of grafana-pcp.
type Source struct {
	Name   string // in file names and titles
	Plugin string // its identifier in Grafana
	live   bool   // values of now, from one host; otherwise recorded ones, of many
}

// Sources are all kinds that show metrics of PCP.
func Sources() []Source {
	return []Source{
		{Name: "vector", Plugin: "performancecopilot-vector-datasource", live: true},
		{Name: "valkey", Plugin: "performancecopilot-valkey-datasource"},
		{Name: "redis", Plugin: "performancecopilot-redis-datasource"},
	}
}

// ref is the data source that the user has chosen.
func (s Source) ref() *DataSourceRef { return &DataSourceRef{Type: s.Plugin, UID: "${datasource}"} }

// expr is the query for a metric.
func (s Source) expr(metric string) string {
	if s.live {
		return metric
	}
	return metric + `{hostname == "$host"}`
}

// variables are what the user chooses.
func (s Source) variables() []Variable {
	list := []Variable{{Name: "datasource", Label: "Data source", Type: "datasource", Query: s.Plugin, Refresh: 1}}
	if !s.live {
		list = append(list, Variable{
			Name: "host", Label: "Host", Type: "query", Datasource: s.ref(),
			Query: "label_values(hostname)", Refresh: 1, Sort: 1,
		})
	}
	return list
}

// time is what is shown at first, and how often that is renewed.
func (s Source) time() (shown TimeRange, refresh string) {
	if s.live {
		return TimeRange{From: "now-5m", To: "now"}, "5s"
	}
	return TimeRange{From: "now-6h", To: "now"}, "1m"
}
