// Package dashboards makes Grafana dashboards from tables of panels: [Host] for the definitions that come with
// the agent, [Agent] for the agent's own health.
//
// Each is rendered once for every data source of grafana-pcp ([Sources]), which want the same panels
// and other queries. The files beside this one are the results; `make dashboards` writes them anew.
//
// Types follow Grafana's dashboard model, schema version 39 (npm package @grafana/schema 11): the part of it that
// is used here. `make check-dashboards` has Grafana's own types check the files.
package dashboards
