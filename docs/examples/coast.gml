graph [
  label "Coast"
  node [ id 0 label "Kiel" Longitude 10.13489 Latitude 54.32133 ]
  node [ id 1 label "Rostock" Longitude 12.14049 Latitude 54.0887 ]
  node [ id 2 label "Malm&#246;" Longitude 13.00073 Latitude 55.60587 ]
  node [ id 3 label "None" ]
  node [ id 4 label "None" ]
  edge [ source 0 target 1 LinkSpeed "10" LinkSpeedUnits "G" LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 2 LinkSpeed "2.5" LinkSpeedUnits "G" LinkSpeedRaw 2500000000.0 ]
  edge [ source 0 target 2 LinkType "Fibre" LinkLabel "Lit fibre" ]
  edge [ source 0 target 3 ]
  edge [ source 2 target 4 ]
]
